CREATE TABLE `billing_models` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`billing_type_id` integer NOT NULL,
	`price` text NOT NULL,
	`currency` text NOT NULL,
	`description` text NOT NULL,
	`company_id` integer NOT NULL,
	`recurring_fee` text NOT NULL,
	`free_units` text NOT NULL,
	`usage_tiers` text NOT NULL,
	`package_size` text,
	`minimum_charge` text,
	`maximum_charge` text,
	`charge_flat_on_zero` integer NOT NULL,
	`credit_plan` text,
	`status` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `billing_models_company` ON `billing_models` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `billing_records` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`billing_model_id` integer NOT NULL,
	`billing_run_id` integer,
	`kind` text NOT NULL,
	`sequence` integer NOT NULL,
	`adjusts_billing_record_id` integer,
	`currency` text NOT NULL,
	`billedUnits` text NOT NULL,
	`totalCharges` text NOT NULL,
	`billingStartAt` text NOT NULL,
	`billingEndAt` text NOT NULL,
	`lines` text NOT NULL,
	`usage_until` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`billing_run_id`) REFERENCES `billing_runs`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `billing_records_period` ON `billing_records` (`subscription_id`,`billingStartAt`,`sequence`);--> statement-breakpoint
CREATE INDEX `billing_records_company` ON `billing_records` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `billing_runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`status` text NOT NULL,
	`dry_run` integer NOT NULL,
	`period` text,
	`requested_by` integer,
	`counts` text NOT NULL,
	`errors` text NOT NULL,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `billing_runs_company` ON `billing_runs` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `clients` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`company_id` integer NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `clients_company` ON `clients` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `companies` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`timezone` text NOT NULL,
	`currency` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `company_timezones` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`timezone` text NOT NULL,
	`set_at` text,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `company_timezones_company` ON `company_timezones` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `leases` (
	`name` text PRIMARY KEY NOT NULL,
	`holder` text NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `products` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`company_id` integer NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `products_company` ON `products` (`company_id`,`id`);--> statement-breakpoint
CREATE TABLE `subscriptions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`external_subscription_id` text NOT NULL,
	`client_id` integer NOT NULL,
	`product_id` integer NOT NULL,
	`billing_model_id` integer NOT NULL,
	`company_id` integer NOT NULL,
	`started_at` text NOT NULL,
	`ends_at` text,
	`billing_anchor_day` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`product_id`) REFERENCES `products`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `subscriptions_external_id` ON `subscriptions` (`company_id`,`external_subscription_id`);--> statement-breakpoint
CREATE INDEX `subscriptions_client` ON `subscriptions` (`client_id`);--> statement-breakpoint
CREATE INDEX `subscriptions_product` ON `subscriptions` (`product_id`);--> statement-breakpoint
CREATE INDEX `subscriptions_billing_model` ON `subscriptions` (`billing_model_id`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`company_id` integer NOT NULL,
	`client_id` integer,
	`password_hash` text NOT NULL,
	`token_version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`email`);--> statement-breakpoint
CREATE INDEX `users_company` ON `users` (`company_id`,`id`);