ALTER TABLE `idempotency_keys` RENAME COLUMN "user_id" TO "owner_id";--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`clientId` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`environment` text NOT NULL,
	`secret_hash` text NOT NULL,
	`last4` text NOT NULL,
	`secret_version` integer NOT NULL,
	`old_secret_hash` text,
	`old_secret_ends_at` text,
	`last_used_at` text,
	`revoked_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_client_id` ON `api_keys` (`clientId`);--> statement-breakpoint
CREATE INDEX `api_keys_company` ON `api_keys` (`company_id`,`id`);--> statement-breakpoint
DROP INDEX `idempotency_keys_request`;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `owner_kind` text DEFAULT 'user' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_request` ON `idempotency_keys` (`owner_kind`,`owner_id`,`method`,`path`,`key`);--> statement-breakpoint
ALTER TABLE `audit_log` ADD `key_id` integer;--> statement-breakpoint
CREATE INDEX `audit_log_key` ON `audit_log` (`company_id`,`key_id`,`at`);