CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`at` text NOT NULL,
	`actor_kind` text NOT NULL,
	`user_id` integer,
	`email` text,
	`role` text,
	`origin` text NOT NULL,
	`address` text,
	`request_id` text NOT NULL,
	`operation` text NOT NULL,
	`outcome` text NOT NULL,
	`target_type` text NOT NULL,
	`target_id` integer,
	`input` text NOT NULL,
	`withheld` text NOT NULL,
	`changes` text,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `audit_log_company` ON `audit_log` (`company_id`,`at`,`id`);--> statement-breakpoint
CREATE INDEX `audit_log_user` ON `audit_log` (`company_id`,`user_id`,`at`);--> statement-breakpoint
CREATE INDEX `audit_log_operation` ON `audit_log` (`company_id`,`operation`,`at`);--> statement-breakpoint
CREATE INDEX `audit_log_target` ON `audit_log` (`company_id`,`target_type`,`target_id`,`at`);--> statement-breakpoint
CREATE INDEX `audit_log_origin` ON `audit_log` (`company_id`,`origin`,`at`);--> statement-breakpoint
CREATE TABLE `billing_model_changes` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`old_billing_model_id` integer NOT NULL,
	`new_billing_model_id` integer NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`effective_at` text NOT NULL,
	`applied_at` text,
	`cancelled_at` text,
	`requested_by` integer,
	`credits_added` integer,
	`adjustment_billing_record_ids` text NOT NULL,
	`last_error` text,
	`attempts` integer NOT NULL,
	`next_attempt_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`old_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`new_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `billing_model_changes_instant` ON `billing_model_changes` (`subscription_id`,`effective_at`) WHERE status <> 'cancelled';--> statement-breakpoint
CREATE INDEX `billing_model_changes_subscription` ON `billing_model_changes` (`subscription_id`,`effective_at`,`id`);--> statement-breakpoint
CREATE INDEX `billing_model_changes_due` ON `billing_model_changes` (`effective_at`) WHERE status = 'scheduled';--> statement-breakpoint
CREATE INDEX `billing_model_changes_old` ON `billing_model_changes` (`old_billing_model_id`);--> statement-breakpoint
CREATE INDEX `billing_model_changes_new` ON `billing_model_changes` (`new_billing_model_id`);--> statement-breakpoint
CREATE TABLE `credit_thresholds` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`month_start` text NOT NULL,
	`threshold` integer NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `credit_thresholds_month` ON `credit_thresholds` (`subscription_id`,`month_start`,`threshold`);--> statement-breakpoint
CREATE TABLE `forms` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`client_id` integer NOT NULL,
	`company_id` integer NOT NULL,
	`is_active` integer NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `forms_company` ON `forms` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `forms_client` ON `forms` (`client_id`,`id`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`method` text NOT NULL,
	`path` text NOT NULL,
	`key` text NOT NULL,
	`digest` text NOT NULL,
	`state` text NOT NULL,
	`claim` text NOT NULL,
	`lease_until` text NOT NULL,
	`target_type` text,
	`target_id` integer,
	`answer` text,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_request` ON `idempotency_keys` (`user_id`,`method`,`path`,`key`);--> statement-breakpoint
CREATE INDEX `idempotency_keys_expiry` ON `idempotency_keys` (`company_id`,`expires_at`);--> statement-breakpoint
CREATE TABLE `webhook_logs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`endpoint_id` integer NOT NULL,
	`message_id` text NOT NULL,
	`event_type` text NOT NULL,
	`url` text NOT NULL,
	`payload` text NOT NULL,
	`status` text NOT NULL,
	`step` integer NOT NULL,
	`attempts` text NOT NULL,
	`next_attempt_at` text,
	`due_at` text,
	`claimed_by` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`endpoint_id`) REFERENCES `webhooks`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_logs_message` ON `webhook_logs` (`endpoint_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `webhook_logs_company` ON `webhook_logs` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `webhook_logs_due` ON `webhook_logs` (`endpoint_id`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`url` text NOT NULL,
	`event_types` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`disabled_reason` text,
	`secrets` text NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `webhooks_company` ON `webhooks` (`company_id`,`id`);--> statement-breakpoint
ALTER TABLE `billing_records` ADD `usage_seq` integer;--> statement-breakpoint
ALTER TABLE `events` ADD `fanned_out_at` text;--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`company_id`,`type`,`id`);--> statement-breakpoint
CREATE INDEX `events_fresh` ON `events` (`id`) WHERE fanned_out_at IS NULL;