ALTER TABLE `events` ADD `subject` text;--> statement-breakpoint
UPDATE `events` SET `subject` = CASE
  WHEN json_extract(`data`, '$.subscription_id') IS NOT NULL THEN 'subscription:' || json_extract(`data`, '$.subscription_id')
  WHEN json_extract(`data`, '$.mandate_id') IS NOT NULL THEN 'mandate:' || json_extract(`data`, '$.mandate_id')
  WHEN json_extract(`data`, '$.application_id') IS NOT NULL THEN 'application:' || json_extract(`data`, '$.application_id')
  WHEN `type` LIKE 'emandate.mandate.%' THEN 'mandate:' || json_extract(`data`, '$.id')
  WHEN substr(`type`, 1, instr(`type`, '.') - 1) IN ('client', 'product', 'meter', 'add_on', 'billing_model', 'subscription', 'migration', 'simulation', 'application') THEN substr(`type`, 1, instr(`type`, '.') - 1) || ':' || json_extract(`data`, '$.id')
END;--> statement-breakpoint
CREATE INDEX `events_subject` ON `events` (`company_id`,`subject`,`id`) WHERE subject IS NOT NULL;