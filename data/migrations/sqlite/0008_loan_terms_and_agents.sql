ALTER TABLE `api_keys` ADD `replaces_id` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `first_key_id` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_replaces` ON `api_keys` (`replaces_id`) WHERE replaces_id IS NOT NULL;--> statement-breakpoint
ALTER TABLE `loan_applications` ADD `form_snapshot` text;--> statement-breakpoint
ALTER TABLE `loan_applications` ADD `requested` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
UPDATE `loan_applications` SET `form_snapshot` = (SELECT `config` FROM `forms` WHERE `forms`.`id` = json_extract(`loan_applications`.`program_snapshot`, '$.form_config_id')) WHERE `status` <> 'draft';--> statement-breakpoint
UPDATE `loan_applications` SET `requested` = `missing`;--> statement-breakpoint
UPDATE `loan_applications` SET `borrower` = json_object('type', json_extract(`borrower`, '$.type'), 'name', '', 'ic_number', null, 'registration_number', null, 'email', null, 'phone', null, 'monthly_income', null, 'employment_type', null), `borrower_name` = '', `purpose` = NULL, `answers` = '{}', `external_reference` = NULL WHERE `deleted_at` IS NOT NULL;--> statement-breakpoint
UPDATE `consents` SET `subject_name` = '', `subject_ic_last4` = NULL, `evidence` = json_set(`evidence`, '$.ip', null, '$.user_agent', null) WHERE `application_id` IN (SELECT `id` FROM `loan_applications` WHERE `deleted_at` IS NOT NULL);
