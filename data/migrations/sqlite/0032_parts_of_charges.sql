CREATE TABLE `spend_limits` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`set_by` text NOT NULL,
	`amount` text NOT NULL,
	`hard` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `spend_limits_subscription` ON `spend_limits` (`subscription_id`,`set_by`);--> statement-breakpoint
CREATE INDEX `spend_limits_company` ON `spend_limits` (`company_id`);--> statement-breakpoint
ALTER TABLE `add_ons` ADD `entitlements` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_records` ADD `unmetered` text;--> statement-breakpoint
ALTER TABLE `companies` ADD `if_uncertain` text DEFAULT 'deny' NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_erasures` ADD `kept_keys` text;