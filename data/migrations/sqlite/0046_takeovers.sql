ALTER TABLE `billing_runs` ADD `subscription_ids` text;--> statement-breakpoint
ALTER TABLE `billing_runs` ADD `closed_since` text;--> statement-breakpoint
CREATE INDEX `billing_runs_running` ON `billing_runs` (`updated_at`,`company_id`) WHERE status = 'running';--> statement-breakpoint
ALTER TABLE `job_runs` ADD `began_at` text;