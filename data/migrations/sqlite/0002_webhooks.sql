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
ALTER TABLE `events` ADD `fanned_out_at` text;--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`company_id`,`type`,`id`);--> statement-breakpoint
CREATE INDEX `events_fresh` ON `events` (`id`) WHERE fanned_out_at IS NULL;