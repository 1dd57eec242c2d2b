CREATE TABLE `usage_upload_rejections` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`upload_id` integer NOT NULL,
	`places` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`upload_id`) REFERENCES `usage_uploads`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_upload_rejections_upload` ON `usage_upload_rejections` (`upload_id`,`id`);--> statement-breakpoint
CREATE TABLE `usage_uploads` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`file_name` text NOT NULL,
	`format` text NOT NULL,
	`bytes` integer NOT NULL,
	`lines` integer NOT NULL,
	`digest` text NOT NULL,
	`file` text NOT NULL,
	`has_file` integer NOT NULL,
	`columns` text NOT NULL,
	`sample` text NOT NULL,
	`matching` text,
	`status` text NOT NULL,
	`dry_run` integer NOT NULL,
	`rows` integer NOT NULL,
	`accepted` integer NOT NULL,
	`duplicates` integer NOT NULL,
	`rejected` integer NOT NULL,
	`named` integer NOT NULL,
	`run` integer NOT NULL,
	`attempts` integer NOT NULL,
	`error` text,
	`requested_by` integer,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_uploads_company` ON `usage_uploads` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `usage_uploads_status` ON `usage_uploads` (`status`,`company_id`);