CREATE TABLE `simulation_rows` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`simulation_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`periods` integer NOT NULL,
	`billed` text NOT NULL,
	`simulated` text NOT NULL,
	`difference` text NOT NULL,
	`reproduces` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`simulation_id`) REFERENCES `simulations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `simulation_rows_place` ON `simulation_rows` (`simulation_id`,`subscription_id`);--> statement-breakpoint
CREATE TABLE `simulations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`status` text NOT NULL,
	`billing_model_id` integer,
	`billing_model` text,
	`draft` text,
	`of` text,
	`from` text NOT NULL,
	`to` text NOT NULL,
	`currency` text NOT NULL,
	`progress` text NOT NULL,
	`counts` text NOT NULL,
	`totals` text NOT NULL,
	`months` text NOT NULL,
	`charges` text NOT NULL,
	`spread` text,
	`mismatches` text NOT NULL,
	`reproduces` integer,
	`after_id` integer NOT NULL,
	`attempts` integer NOT NULL,
	`error` text,
	`requested_by` integer,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `simulations_company` ON `simulations` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `simulations_status` ON `simulations` (`status`,`company_id`);--> statement-breakpoint
ALTER TABLE `billing_models` ADD `purpose` text DEFAULT 'price' NOT NULL;