CREATE TABLE `features` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`code` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`kind` text NOT NULL,
	`meter_id` integer,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`meter_id`) REFERENCES `meters`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `features_code` ON `features` (`company_id`,`code`);--> statement-breakpoint
CREATE TABLE `subscription_entitlements` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`feature_id` integer NOT NULL,
	`entitlements` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`feature_id`) REFERENCES `features`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `subscription_entitlements_feature` ON `subscription_entitlements` (`subscription_id`,`feature_id`);--> statement-breakpoint
CREATE INDEX `subscription_entitlements_company` ON `subscription_entitlements` (`company_id`,`feature_id`);--> statement-breakpoint
CREATE TABLE `usage_reservations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`reservation_id` text NOT NULL,
	`subscription_id` integer NOT NULL,
	`feature_id` integer NOT NULL,
	`units` text NOT NULL,
	`group` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`feature_id`) REFERENCES `features`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_reservations_id` ON `usage_reservations` (`company_id`,`reservation_id`);--> statement-breakpoint
CREATE INDEX `usage_reservations_subscription` ON `usage_reservations` (`subscription_id`);--> statement-breakpoint
ALTER TABLE `billing_models` ADD `entitlements` text DEFAULT '[]' NOT NULL;