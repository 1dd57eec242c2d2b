CREATE TABLE `emandate_bank_lists` (
	`company_id` integer PRIMARY KEY NOT NULL,
	`banks` text NOT NULL,
	`asked_at` text NOT NULL,
	`checked_at` text,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `emandate_configs` (
	`company_id` integer PRIMARY KEY NOT NULL,
	`connector` text NOT NULL,
	`exchange_id` text,
	`seller_id` text,
	`private_key_sealed` text,
	`scheme_certificate_pem` text,
	`callback_url` text,
	`return_url` text,
	`max_retries` integer NOT NULL,
	`retry_interval_days` integer NOT NULL,
	`first_collection_lead_days` integer NOT NULL,
	`suspend_after_failures` integer NOT NULL,
	`auto_collect` integer NOT NULL,
	`holidays` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `emandate_configs_seller` ON `emandate_configs` (`exchange_id`,`seller_id`);