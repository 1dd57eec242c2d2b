CREATE TABLE `unbilled_usage` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`reason` text NOT NULL,
	`from` text NOT NULL,
	`to` text,
	`billing_record_id` integer,
	`units` text NOT NULL,
	`event_count` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `unbilled_usage_place` ON `unbilled_usage` (`subscription_id`,`reason`,`from`);--> statement-breakpoint
CREATE INDEX `unbilled_usage_company` ON `unbilled_usage` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `unbilled_usage_checks` (
	`company_id` integer PRIMARY KEY NOT NULL,
	`usage_seq` integer NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `billing_runs` ADD `totals` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
UPDATE `billing_runs` SET `counts` = json_set(`counts`, '$.late_unbilled', 0);
