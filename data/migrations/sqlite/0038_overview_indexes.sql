CREATE INDEX `clients_name` ON `clients` (`company_id`,lower("name"));--> statement-breakpoint
CREATE INDEX `credit_thresholds_company` ON `credit_thresholds` (`company_id`,`month_start`);--> statement-breakpoint
CREATE INDEX `subscriptions_name` ON `subscriptions` (`company_id`,lower("name"));--> statement-breakpoint
CREATE INDEX `subscriptions_external_order` ON `subscriptions` (`company_id`,lower("external_subscription_id"));--> statement-breakpoint
CREATE INDEX `webhook_logs_failed` ON `webhook_logs` (`company_id`,`id`) WHERE status = 'failed';