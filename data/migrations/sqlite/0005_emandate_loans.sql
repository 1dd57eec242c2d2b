CREATE TABLE `collection_runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`status` text NOT NULL,
	`date` text NOT NULL,
	`requested_by` integer,
	`counts` text NOT NULL,
	`error` text,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `collection_runs_company` ON `collection_runs` (`company_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `collection_runs_running` ON `collection_runs` (`company_id`) WHERE status = 'running';--> statement-breakpoint
CREATE TABLE `consent_definitions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`code` text NOT NULL,
	`version` integer NOT NULL,
	`locale` text NOT NULL,
	`title` text NOT NULL,
	`purpose_text` text NOT NULL,
	`data_text` text NOT NULL,
	`data_categories` text NOT NULL,
	`audience` text NOT NULL,
	`data_life_days` integer,
	`validity_days` integer,
	`text_sha256` text NOT NULL,
	`status` text NOT NULL,
	`published_at` text,
	`retired_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `consent_definitions_version` ON `consent_definitions` (`company_id`,`environment`,`code`,`locale`,`version`);--> statement-breakpoint
CREATE UNIQUE INDEX `consent_definitions_published` ON `consent_definitions` (`company_id`,`environment`,`code`,`locale`) WHERE status = 'published';--> statement-breakpoint
CREATE TABLE `consents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`application_id` integer NOT NULL,
	`definition_id` integer NOT NULL,
	`code` text NOT NULL,
	`version` integer NOT NULL,
	`locale` text NOT NULL,
	`text_sha256` text NOT NULL,
	`status` text NOT NULL,
	`subject_name` text NOT NULL,
	`subject_ic_last4` text,
	`evidence` text NOT NULL,
	`granted_at` text NOT NULL,
	`expires_at` text,
	`revoked_at` text,
	`revoke_reason` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`application_id`) REFERENCES `loan_applications`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`definition_id`) REFERENCES `consent_definitions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `consents_granted` ON `consents` (`application_id`,`definition_id`) WHERE status = 'granted';--> statement-breakpoint
CREATE INDEX `consents_application` ON `consents` (`application_id`,`id`);--> statement-breakpoint
CREATE INDEX `consents_expiring` ON `consents` (`company_id`,`expires_at`) WHERE status = 'granted';--> statement-breakpoint
CREATE TABLE `emandate_bank_lists` (
	`company_id` integer PRIMARY KEY NOT NULL,
	`banks` text NOT NULL,
	`asked_at` text NOT NULL,
	`checked_at` text,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `emandate_configs` (
	`company_id` integer PRIMARY KEY NOT NULL,
	`connector` text NOT NULL,
	`exchange_id` text,
	`seller_id` text,
	`private_key_sealed` text,
	`scheme_certificate_pem` text,
	`callback_url` text,
	`return_url` text,
	`max_retries` integer NOT NULL,
	`retry_interval_days` integer NOT NULL,
	`first_collection_lead_days` integer NOT NULL,
	`suspend_after_failures` integer NOT NULL,
	`auto_collect` integer NOT NULL,
	`holidays` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `emandate_configs_seller` ON `emandate_configs` (`exchange_id`,`seller_id`);--> statement-breakpoint
CREATE TABLE `emandate_customers` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`phone` text,
	`ic_number` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `emandate_customers_email` ON `emandate_customers` (`company_id`,`email`);--> statement-breakpoint
CREATE INDEX `emandate_customers_company` ON `emandate_customers` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `emandate_products` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`product_code` text NOT NULL,
	`product_name` text NOT NULL,
	`max_amount` integer NOT NULL,
	`max_no_debit` text NOT NULL,
	`frequency` text NOT NULL,
	`is_active` integer NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `emandate_products_code` ON `emandate_products` (`company_id`,`product_code`);--> statement-breakpoint
CREATE INDEX `emandate_products_company` ON `emandate_products` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `loan_applications` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`reference` text NOT NULL,
	`agent_key_id` integer,
	`agent_client_id` text,
	`program_id` integer NOT NULL,
	`program_snapshot` text NOT NULL,
	`external_reference` text,
	`status` text NOT NULL,
	`borrower` text NOT NULL,
	`borrower_name` text NOT NULL,
	`amount` text NOT NULL,
	`tenor_months` integer NOT NULL,
	`purpose` text,
	`answers` text NOT NULL,
	`missing` text NOT NULL,
	`decision` text,
	`offer` text,
	`disbursement_reference` text,
	`expires_at` text,
	`submitted_at` text,
	`under_review_at` text,
	`action_required_at` text,
	`approved_at` text,
	`rejected_at` text,
	`accepted_at` text,
	`declined_at` text,
	`withdrawn_at` text,
	`expired_at` text,
	`disbursed_at` text,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`agent_key_id`) REFERENCES `api_keys`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`program_id`) REFERENCES `loan_programs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `loan_applications_reference` ON `loan_applications` (`reference`);--> statement-breakpoint
CREATE UNIQUE INDEX `loan_applications_external` ON `loan_applications` (`company_id`,`environment`,`agent_key_id`,`external_reference`) WHERE deleted_at IS NULL AND agent_key_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `loan_applications_external_of_users` ON `loan_applications` (`company_id`,`environment`,`external_reference`) WHERE deleted_at IS NULL AND agent_key_id IS NULL;--> statement-breakpoint
CREATE INDEX `loan_applications_scope` ON `loan_applications` (`company_id`,`environment`,`id`);--> statement-breakpoint
CREATE INDEX `loan_applications_agent` ON `loan_applications` (`agent_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `loan_applications_program` ON `loan_applications` (`program_id`,`status`);--> statement-breakpoint
CREATE INDEX `loan_applications_expiry` ON `loan_applications` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `loan_documents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`application_id` integer NOT NULL,
	`type` text NOT NULL,
	`file_name` text NOT NULL,
	`content_type` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`status` text NOT NULL,
	`reason_code` text,
	`note` text,
	`reviewed_at` text,
	`uploaded_by` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`application_id`) REFERENCES `loan_applications`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `loan_documents_current` ON `loan_documents` (`application_id`,`type`) WHERE status <> 'superseded';--> statement-breakpoint
CREATE INDEX `loan_documents_application` ON `loan_documents` (`application_id`,`id`);--> statement-breakpoint
CREATE INDEX `loan_documents_file` ON `loan_documents` (`company_id`,`sha256`);--> statement-breakpoint
CREATE TABLE `loan_programs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`code` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`borrower_type` text NOT NULL,
	`currency` text NOT NULL,
	`min_amount` text NOT NULL,
	`max_amount` text NOT NULL,
	`min_tenor_months` integer NOT NULL,
	`max_tenor_months` integer NOT NULL,
	`annual_rate_min` text NOT NULL,
	`annual_rate_max` text NOT NULL,
	`rate_type` text NOT NULL,
	`eligibility` text NOT NULL,
	`required_documents` text NOT NULL,
	`required_consents` text NOT NULL,
	`form_config_id` integer,
	`status` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`form_config_id`) REFERENCES `forms`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `loan_programs_code` ON `loan_programs` (`company_id`,`environment`,`code`);--> statement-breakpoint
CREATE INDEX `loan_programs_scope` ON `loan_programs` (`company_id`,`environment`,`id`);--> statement-breakpoint
CREATE INDEX `loan_programs_form` ON `loan_programs` (`form_config_id`);--> statement-breakpoint
CREATE TABLE `mandate_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`mandate_id` integer NOT NULL,
	`type` text NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`mandate_id`) REFERENCES `mandates`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `mandate_events_mandate` ON `mandate_events` (`mandate_id`,`id`);--> statement-breakpoint
CREATE TABLE `mandate_orders` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`mandate_id` integer NOT NULL,
	`payment_id` integer,
	`collection_run_id` integer,
	`connector` text NOT NULL,
	`kind` text NOT NULL,
	`order_no` text NOT NULL,
	`attempt_no` integer NOT NULL,
	`amount` integer NOT NULL,
	`status` text NOT NULL,
	`awaits` text,
	`awaits_since` text NOT NULL,
	`response_code` text,
	`response_message` text,
	`scheme_txn_id` text,
	`submitted_at` text NOT NULL,
	`completed_at` text,
	`next_query_at` text,
	`queries` integer NOT NULL,
	`flagged_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`mandate_id`) REFERENCES `mandates`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payment_id`) REFERENCES `mandate_payments`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`collection_run_id`) REFERENCES `collection_runs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mandate_orders_number` ON `mandate_orders` (`order_no`);--> statement-breakpoint
CREATE UNIQUE INDEX `mandate_orders_attempt` ON `mandate_orders` (`payment_id`,`attempt_no`);--> statement-breakpoint
CREATE INDEX `mandate_orders_mandate` ON `mandate_orders` (`mandate_id`,`id`);--> statement-breakpoint
CREATE INDEX `mandate_orders_run` ON `mandate_orders` (`collection_run_id`,`id`);--> statement-breakpoint
CREATE INDEX `mandate_orders_query` ON `mandate_orders` (`next_query_at`,`company_id`) WHERE next_query_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `mandate_payments` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`mandate_id` integer NOT NULL,
	`period_key` text,
	`due_date` text NOT NULL,
	`debit_date` text NOT NULL,
	`amount` integer NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`attempt_count` integer NOT NULL,
	`next_attempt_at` text,
	`order_no` text,
	`scheme_txn_id` text,
	`response_code` text,
	`response_message` text,
	`paid_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`mandate_id`) REFERENCES `mandates`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mandate_payments_period` ON `mandate_payments` (`mandate_id`,`period_key`);--> statement-breakpoint
CREATE INDEX `mandate_payments_company` ON `mandate_payments` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `mandate_payments_mandate` ON `mandate_payments` (`mandate_id`,`debit_date`);--> statement-breakpoint
CREATE INDEX `mandate_payments_due` ON `mandate_payments` (`company_id`,`status`,`next_attempt_at`,`id`);--> statement-breakpoint
CREATE TABLE `mandates` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`reference` text NOT NULL,
	`scheme_reference` text,
	`customer_id` integer NOT NULL,
	`emandate_product_id` integer,
	`connector` text NOT NULL,
	`application_type` text NOT NULL,
	`status` text NOT NULL,
	`status_reason` text,
	`status_before` text,
	`bankscheme_txn_amount` integer,
	`max_amount` integer NOT NULL,
	`max_no_debit` text NOT NULL,
	`frequency` text NOT NULL,
	`bank_code` text,
	`bank_account_last4` text,
	`effective_date` text,
	`expiry_date` text,
	`amendment` text,
	`anchor_date` text,
	`next_collection_at` text,
	`failed_payments` integer NOT NULL,
	`authorization_url` text,
	`authorized_at` text,
	`activated_at` text,
	`terminated_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`customer_id`) REFERENCES `emandate_customers`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`emandate_product_id`) REFERENCES `emandate_products`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mandates_reference` ON `mandates` (`company_id`,`reference`);--> statement-breakpoint
CREATE INDEX `mandates_company` ON `mandates` (`company_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `mandates_customer` ON `mandates` (`customer_id`);--> statement-breakpoint
CREATE INDEX `mandates_product` ON `mandates` (`emandate_product_id`);--> statement-breakpoint
CREATE INDEX `mandates_due` ON `mandates` (`company_id`,`status`,`next_collection_at`,`id`);--> statement-breakpoint
CREATE INDEX `mandates_expiry` ON `mandates` (`status`,`expiry_date`) WHERE expiry_date IS NOT NULL;--> statement-breakpoint
CREATE TABLE `scheme_callbacks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer,
	`received_at` text NOT NULL,
	`address` text,
	`order_no` text,
	`digest` text NOT NULL,
	`response_code` text,
	`outcome` text NOT NULL,
	`reason` text,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `scheme_callbacks_order` ON `scheme_callbacks` (`order_no`);--> statement-breakpoint
CREATE INDEX `scheme_callbacks_time` ON `scheme_callbacks` (`received_at`);--> statement-breakpoint
ALTER TABLE `webhook_logs` ADD `environment` text;--> statement-breakpoint
CREATE INDEX `webhook_logs_environment` ON `webhook_logs` (`company_id`,`environment`,`id`) WHERE environment IS NOT NULL;