CREATE TABLE `browser_sessions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`token_hash` text NOT NULL,
	`token_version` integer NOT NULL,
	`address` text,
	`user_agent` text,
	`created_at` text NOT NULL,
	`last_used_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `browser_sessions_token` ON `browser_sessions` (`token_hash`);--> statement-breakpoint
CREATE INDEX `browser_sessions_user` ON `browser_sessions` (`user_id`,`id`);--> statement-breakpoint
CREATE INDEX `browser_sessions_used` ON `browser_sessions` (`company_id`,`last_used_at`);