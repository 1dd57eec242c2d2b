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
CREATE INDEX `idempotency_keys_expiry` ON `idempotency_keys` (`company_id`,`expires_at`);