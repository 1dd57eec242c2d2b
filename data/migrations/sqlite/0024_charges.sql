ALTER TABLE `billing_models` ADD `meter_id` integer REFERENCES meters(id);--> statement-breakpoint
ALTER TABLE `billing_models` ADD `charges` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_models` ADD `commitment` text;