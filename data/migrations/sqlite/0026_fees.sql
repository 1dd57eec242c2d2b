ALTER TABLE `billing_models` ADD `setup_fee` text DEFAULT '0' NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_models` ADD `trial_days` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_models` ADD `fee_interval` text DEFAULT 'month' NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_models` ADD `fee_timing` text DEFAULT 'in_arrears' NOT NULL;--> statement-breakpoint
ALTER TABLE `subscriptions` ADD `trial_days` integer;