CREATE TABLE `alert_firings` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`digest` text NOT NULL,
	`alert_id` integer,
	`subscription_id` integer NOT NULL,
	`threshold` text NOT NULL,
	`value` text NOT NULL,
	`limit` text,
	`window` text NOT NULL,
	`window_start` text NOT NULL,
	`window_end` text,
	`per` text,
	`group` text,
	`at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`alert_id`) REFERENCES `alerts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `alert_firings_digest` ON `alert_firings` (`company_id`,`digest`);--> statement-breakpoint
CREATE INDEX `alert_firings_alert` ON `alert_firings` (`alert_id`,`id`);--> statement-breakpoint
CREATE INDEX `alert_firings_window` ON `alert_firings` (`company_id`,`window_end`);--> statement-breakpoint
CREATE TABLE `alerts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`name` text NOT NULL,
	`on` text NOT NULL,
	`meter_id` integer,
	`feature_id` integer,
	`currency` text,
	`scope` text NOT NULL,
	`thresholds` text NOT NULL,
	`status` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`meter_id`) REFERENCES `meters`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`feature_id`) REFERENCES `features`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `alerts_company` ON `alerts` (`company_id`);