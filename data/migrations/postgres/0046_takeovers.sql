ALTER TABLE "billing_runs" ADD COLUMN "subscription_ids" jsonb;--> statement-breakpoint
ALTER TABLE "billing_runs" ADD COLUMN "closed_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "job_runs" ADD COLUMN "began_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "billing_runs_running" ON "billing_runs" USING btree ("updated_at","company_id") WHERE status = 'running';