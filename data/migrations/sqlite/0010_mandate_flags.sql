CREATE TABLE `mandate_flags` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`mandate_id` integer NOT NULL,
	`payment_id` integer,
	`order_id` integer NOT NULL,
	`reason` text NOT NULL,
	`about` text NOT NULL,
	`response_code` text,
	`message` text,
	`note` text,
	`resolved_by` integer,
	`resolved_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`mandate_id`) REFERENCES `mandates`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payment_id`) REFERENCES `mandate_payments`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`order_id`) REFERENCES `mandate_orders`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mandate_flags_order` ON `mandate_flags` (`order_id`,`reason`,`about`);--> statement-breakpoint
CREATE INDEX `mandate_flags_company` ON `mandate_flags` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `mandate_flags_open` ON `mandate_flags` (`company_id`,`id`) WHERE resolved_at IS NULL;--> statement-breakpoint
CREATE INDEX `mandate_flags_mandate` ON `mandate_flags` (`mandate_id`,`id`);--> statement-breakpoint
ALTER TABLE `mandate_orders` ADD `corrected_code` text;--> statement-breakpoint
ALTER TABLE `mandate_orders` ADD `amendment` text;--> statement-breakpoint
-- What nobody has answered is on the list from the beginning.
INSERT INTO mandate_flags (company_id, mandate_id, payment_id, order_id, reason, about, response_code, message, created_at, updated_at)
SELECT company_id, mandate_id, payment_id, id, 'no_answer', awaits, response_code, response_message, flagged_at, flagged_at
FROM mandate_orders WHERE flagged_at IS NOT NULL AND awaits IS NOT NULL;--> statement-breakpoint
UPDATE mandate_orders SET amendment = (SELECT mandates.amendment FROM mandates WHERE mandates.id = mandate_orders.mandate_id)
WHERE kind = 'amendment' AND awaits IS NOT NULL;
