CREATE TABLE `ended_tokens` (
	`token_id` text PRIMARY KEY NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ended_tokens_expiry` ON `ended_tokens` (`expires_at`);--> statement-breakpoint
DROP INDEX `users_email`;--> statement-breakpoint
ALTER TABLE `users` ADD `name` text;--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`email`,`company_id`);