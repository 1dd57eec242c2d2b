CREATE TABLE `forms` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`client_id` integer NOT NULL,
	`company_id` integer NOT NULL,
	`is_active` integer NOT NULL,
	`deleted_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `forms_company` ON `forms` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `forms_client` ON `forms` (`client_id`,`id`);--> statement-breakpoint
ALTER TABLE `billing_records` ADD `usage_seq` integer;