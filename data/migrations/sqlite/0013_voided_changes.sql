ALTER TABLE `billing_model_changes` ADD `after_period_at` text;--> statement-breakpoint
ALTER TABLE `billing_model_changes` ADD `voided_at` text;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `last_period_at` text;--> statement-breakpoint
CREATE INDEX `subscriptions_following` ON `subscriptions` (`company_id`,`ends_at`) WHERE last_period_at is not null;