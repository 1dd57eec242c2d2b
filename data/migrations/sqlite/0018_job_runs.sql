CREATE TABLE `job_runs` (
	`name` text PRIMARY KEY NOT NULL,
	`succeeded_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mandate_orders_unanswered` ON `mandate_orders` (`submitted_at`) WHERE awaits IN ('payment', 'confirmation');