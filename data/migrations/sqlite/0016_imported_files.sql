CREATE TABLE `usage_imports` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`file_name` text NOT NULL,
	`digest` text NOT NULL,
	`bytes` integer NOT NULL,
	`rows` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_imports_content` ON `usage_imports` (`company_id`,`digest`);