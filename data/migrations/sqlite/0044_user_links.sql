CREATE TABLE `user_links` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`token_hash` text NOT NULL,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `user_links_user` ON `user_links` (`user_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `user_links_token` ON `user_links` (`token_hash`);--> statement-breakpoint
CREATE INDEX `user_links_expiry` ON `user_links` (`company_id`,`expires_at`);