ALTER TABLE `loan_documents` ADD `object_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `loan_documents_object` ON `loan_documents` (`object_id`);