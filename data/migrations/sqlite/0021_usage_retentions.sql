CREATE TABLE `usage_retentions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`since_ms` integer NOT NULL,
	`status` text NOT NULL,
	`bills` integer NOT NULL,
	`last_bill_id` integer NOT NULL,
	`problem` text,
	`proved_at` text,
	`removed_events` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_retentions_since` ON `usage_retentions` (`company_id`,`since_ms`);--> statement-breakpoint
CREATE INDEX `usage_retentions_status` ON `usage_retentions` (`status`);