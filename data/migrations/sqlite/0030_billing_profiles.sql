CREATE TABLE `client_billing_profiles` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`client_id` integer NOT NULL,
	`interim_at` text,
	`currency` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`client_id`) REFERENCES `clients`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `client_billing_profiles_client` ON `client_billing_profiles` (`client_id`);--> statement-breakpoint
CREATE INDEX `client_billing_profiles_interim` ON `client_billing_profiles` (`company_id`) WHERE interim_at is not null;