CREATE TABLE `billing_model_changes` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`old_billing_model_id` integer NOT NULL,
	`new_billing_model_id` integer NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`effective_at` text NOT NULL,
	`applied_at` text,
	`cancelled_at` text,
	`requested_by` integer,
	`credits_added` integer,
	`adjustment_billing_record_ids` text NOT NULL,
	`last_error` text,
	`attempts` integer NOT NULL,
	`next_attempt_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`old_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`new_billing_model_id`) REFERENCES `billing_models`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `billing_model_changes_instant` ON `billing_model_changes` (`subscription_id`,`effective_at`) WHERE status <> 'cancelled';--> statement-breakpoint
CREATE INDEX `billing_model_changes_subscription` ON `billing_model_changes` (`subscription_id`,`effective_at`,`id`);--> statement-breakpoint
CREATE INDEX `billing_model_changes_due` ON `billing_model_changes` (`effective_at`) WHERE status = 'scheduled';--> statement-breakpoint
CREATE INDEX `billing_model_changes_old` ON `billing_model_changes` (`old_billing_model_id`);--> statement-breakpoint
CREATE INDEX `billing_model_changes_new` ON `billing_model_changes` (`new_billing_model_id`);--> statement-breakpoint
CREATE TABLE `credit_thresholds` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`subscription_id` integer NOT NULL,
	`month_start` text NOT NULL,
	`threshold` integer NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`subscription_id`) REFERENCES `subscriptions`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `credit_thresholds_month` ON `credit_thresholds` (`subscription_id`,`month_start`,`threshold`);