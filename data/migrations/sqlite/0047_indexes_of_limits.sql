CREATE INDEX `subscriptions_company` ON `subscriptions` (`company_id`,`id`);--> statement-breakpoint
CREATE INDEX `usage_reservations_end` ON `usage_reservations` (`expires_at`,`company_id`);