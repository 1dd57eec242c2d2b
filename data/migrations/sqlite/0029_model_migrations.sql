CREATE TABLE `billing_model_migrations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`from_billing_model_id` integer NOT NULL,
	`to_billing_model_id` integer NOT NULL,
	`at` text NOT NULL,
	`subscription_ids` text,
	`status` text NOT NULL,
	`after_id` integer NOT NULL,
	`last_id` integer NOT NULL,
	`counts` text NOT NULL,
	`errors` text NOT NULL,
	`requested_by` integer,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`from_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`to_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `billing_model_migrations_company` ON `billing_model_migrations` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `billing_model_migrations_running` ON `billing_model_migrations` (`company_id`) WHERE status = 'running';