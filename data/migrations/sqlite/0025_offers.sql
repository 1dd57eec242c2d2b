ALTER TABLE `billing_models` ADD `plan_code` text;--> statement-breakpoint
ALTER TABLE `billing_models` ADD `for_client_id` integer REFERENCES clients(id);--> statement-breakpoint
CREATE UNIQUE INDEX `billing_models_price_book` ON `billing_models` (`company_id`,`plan_code`,`currency`) WHERE status = 'active';