CREATE TABLE `person_erasures` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`status` text NOT NULL,
	`subjects` text NOT NULL,
	`records` integer NOT NULL,
	`traces` text,
	`shipped_at` text,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `person_erasures_status` ON `person_erasures` (`status`,`company_id`);--> statement-breakpoint
CREATE INDEX `person_erasures_unshipped` ON `person_erasures` (`company_id`,`shipped_at`);