CREATE TABLE `usage_erased_ids` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`erasure_id` integer NOT NULL,
	`ids` text NOT NULL,
	`count` integer NOT NULL,
	`shipped_at` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`erasure_id`) REFERENCES `usage_erasures`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_erased_ids_erasure` ON `usage_erased_ids` (`erasure_id`);--> statement-breakpoint
CREATE INDEX `usage_erased_ids_unshipped` ON `usage_erased_ids` (`shipped_at`);--> statement-breakpoint
CREATE TABLE `usage_erasures` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`status` text NOT NULL,
	`subscription_ids` text,
	`metadata_keys` text,
	`ids` integer,
	`start_time` integer,
	`end_time` integer,
	`erased` integer NOT NULL,
	`conditions` text,
	`last_seq` integer,
	`finished_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_erasures_status` ON `usage_erasures` (`status`,`company_id`);