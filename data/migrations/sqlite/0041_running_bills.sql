CREATE TABLE `running_bills` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`currency` text NOT NULL,
	`amount` text,
	`from` text NOT NULL,
	`to` text NOT NULL,
	`usage_until` text NOT NULL,
	`usage_seq` integer NOT NULL,
	`rated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `running_bills_subscription` ON `running_bills` (`subscription_id`);--> statement-breakpoint
CREATE INDEX `running_bills_company` ON `running_bills` (`company_id`);