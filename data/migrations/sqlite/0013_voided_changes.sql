ALTER TABLE `billing_model_changes` ADD `after_period_at` text;--> statement-breakpoint
ALTER TABLE `billing_model_changes` ADD `voided_at` text;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `last_period_at` text;--> statement-breakpoint
CREATE INDEX `subscriptions_following` ON `subscriptions` (`company_id`,`ends_at`) WHERE last_period_at is not null;--> statement-breakpoint
UPDATE `subscriptions` SET `last_period_at` = CASE WHEN `started_at` > `updated_at` THEN `started_at` ELSE `updated_at` END WHERE `ends_at` > `started_at` AND `ends_at` > `updated_at`;--> statement-breakpoint
UPDATE `billing_model_changes` SET `after_period_at` = (SELECT CASE WHEN `subscriptions`.`started_at` > `billing_model_changes`.`created_at` THEN `subscriptions`.`started_at` ELSE `billing_model_changes`.`created_at` END FROM `subscriptions` WHERE `subscriptions`.`id` = `billing_model_changes`.`subscription_id`) WHERE `kind` = 'downgrade' AND `status` = 'scheduled';