CREATE TABLE `consent_definitions` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`code` text NOT NULL,
	`version` integer NOT NULL,
	`locale` text NOT NULL,
	`title` text NOT NULL,
	`purpose_text` text NOT NULL,
	`data_text` text NOT NULL,
	`data_categories` text NOT NULL,
	`audience` text NOT NULL,
	`data_life_days` integer,
	`validity_days` integer,
	`text_sha256` text NOT NULL,
	`status` text NOT NULL,
	`published_at` text,
	`retired_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `consent_definitions_version` ON `consent_definitions` (`company_id`,`environment`,`code`,`locale`,`version`);--> statement-breakpoint
CREATE UNIQUE INDEX `consent_definitions_published` ON `consent_definitions` (`company_id`,`environment`,`code`,`locale`) WHERE status = 'published';--> statement-breakpoint
CREATE TABLE `consents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`application_id` integer NOT NULL,
	`definition_id` integer NOT NULL,
	`code` text NOT NULL,
	`version` integer NOT NULL,
	`locale` text NOT NULL,
	`text_sha256` text NOT NULL,
	`status` text NOT NULL,
	`subject_name` text NOT NULL,
	`subject_ic_last4` text,
	`evidence` text NOT NULL,
	`granted_at` text NOT NULL,
	`expires_at` text,
	`revoked_at` text,
	`revoke_reason` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`application_id`) REFERENCES `loan_applications`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`definition_id`) REFERENCES `consent_definitions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `consents_granted` ON `consents` (`application_id`,`definition_id`) WHERE status = 'granted';--> statement-breakpoint
CREATE INDEX `consents_application` ON `consents` (`application_id`,`id`);--> statement-breakpoint
CREATE INDEX `consents_expiring` ON `consents` (`company_id`,`expires_at`) WHERE status = 'granted';--> statement-breakpoint
CREATE TABLE `loan_documents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`environment` text NOT NULL,
	`application_id` integer NOT NULL,
	`type` text NOT NULL,
	`file_name` text NOT NULL,
	`content_type` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`status` text NOT NULL,
	`reason_code` text,
	`note` text,
	`reviewed_at` text,
	`uploaded_by` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`application_id`) REFERENCES `loan_applications`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `loan_documents_current` ON `loan_documents` (`application_id`,`type`) WHERE status <> 'superseded';--> statement-breakpoint
CREATE INDEX `loan_documents_application` ON `loan_documents` (`application_id`,`id`);--> statement-breakpoint
CREATE INDEX `loan_documents_file` ON `loan_documents` (`company_id`,`sha256`);