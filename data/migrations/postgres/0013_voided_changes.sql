ALTER TABLE "billing_model_changes" ADD COLUMN "after_period_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "billing_model_changes" ADD COLUMN "voided_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "last_period_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "subscriptions_following" ON "subscriptions" USING btree ("company_id","ends_at") WHERE last_period_at is not null;