CREATE TABLE `sign_in_counts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`key_hash` text NOT NULL,
	`instance_id` text NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sign_in_counts_key` ON `sign_in_counts` (`key_hash`,`expires_at`);--> statement-breakpoint
CREATE INDEX `sign_in_counts_expiry` ON `sign_in_counts` (`expires_at`);