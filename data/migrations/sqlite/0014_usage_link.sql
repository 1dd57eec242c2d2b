CREATE TABLE `usage_link` (
	`id` integer PRIMARY KEY NOT NULL,
	`database_id` text NOT NULL,
	`store_id` text,
	`opening_number` integer NOT NULL,
	`opening_id` text,
	`last_seq` integer NOT NULL,
	`place` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `billing_records_usage_seq` ON `billing_records` (`usage_seq`);