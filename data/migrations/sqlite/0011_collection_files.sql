ALTER TABLE `collection_runs` ADD `connector` text DEFAULT 'sandbox' NOT NULL;--> statement-breakpoint
UPDATE `collection_runs` SET `connector` = 'fpx' WHERE EXISTS (SELECT 1 FROM `mandate_orders` WHERE `mandate_orders`.`collection_run_id` = `collection_runs`.`id` AND `mandate_orders`.`connector` = 'fpx') OR EXISTS (SELECT 1 FROM `emandate_configs` WHERE `emandate_configs`.`company_id` = `collection_runs`.`company_id` AND `emandate_configs`.`connector` = 'fpx');--> statement-breakpoint
-- Their files could be had before: what stands in them may be at the bank, and goes out with no other run.
UPDATE `collection_runs` SET `status` = 'finished', `finished_at` = coalesce(`finished_at`, `updated_at`), `error` = coalesce(`error`, 'Interrupted') WHERE `connector` = 'fpx' AND `status` <> 'finished';--> statement-breakpoint
ALTER TABLE `mandate_payments` ADD `frequency` text DEFAULT 'Monthly' NOT NULL;--> statement-breakpoint
UPDATE `mandate_payments` SET `frequency` = (SELECT `mandates`.`frequency` FROM `mandates` WHERE `mandates`.`id` = `mandate_payments`.`mandate_id`);--> statement-breakpoint
ALTER TABLE `mandate_payments` ADD `forgiven_at` text;--> statement-breakpoint
UPDATE `mandate_payments` SET `forgiven_at` = `updated_at` WHERE `status` IN ('failed', 'charged_back') AND EXISTS (SELECT 1 FROM `mandate_events` WHERE `mandate_events`.`mandate_id` = `mandate_payments`.`mandate_id` AND `mandate_events`.`type` = 'emandate.mandate.resumed' AND `mandate_events`.`created_at` >= `mandate_payments`.`updated_at`);--> statement-breakpoint
CREATE INDEX `mandate_orders_by_file` ON `mandate_orders` (`company_id`,`collection_run_id`,`id`) WHERE awaits = 'payment' AND connector = 'fpx';--> statement-breakpoint
CREATE INDEX `mandates_fpx` ON `mandates` (`company_id`,`status`) WHERE connector = 'fpx';--> statement-breakpoint
ALTER TABLE `mandates` DROP COLUMN `failed_payments`;