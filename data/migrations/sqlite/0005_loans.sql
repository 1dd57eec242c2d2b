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
CREATE INDEX `loan_programs_form` ON `loan_programs` (`form_config_id`);