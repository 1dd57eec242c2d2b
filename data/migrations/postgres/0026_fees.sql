ALTER TABLE "billing_models" ADD COLUMN "setup_fee" numeric DEFAULT '0' NOT NULL;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "trial_days" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "fee_interval" text DEFAULT 'month' NOT NULL;--> statement-breakpoint
ALTER TABLE "billing_models" ADD COLUMN "fee_timing" text DEFAULT 'in_arrears' NOT NULL;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "trial_days" bigint;