CREATE INDEX "clients_name" ON "clients" USING btree ("company_id",lower("name") COLLATE "C");--> statement-breakpoint
CREATE INDEX "credit_thresholds_company" ON "credit_thresholds" USING btree ("company_id","month_start");--> statement-breakpoint
CREATE INDEX "subscriptions_name" ON "subscriptions" USING btree ("company_id",lower("name") COLLATE "C");--> statement-breakpoint
CREATE INDEX "subscriptions_external_order" ON "subscriptions" USING btree ("company_id",lower("external_subscription_id") COLLATE "C");--> statement-breakpoint
CREATE INDEX "webhook_logs_failed" ON "webhook_logs" USING btree ("company_id","id") WHERE status = 'failed';