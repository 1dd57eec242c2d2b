CREATE TABLE "job_runs" (
	"name" text PRIMARY KEY NOT NULL,
	"succeeded_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "mandate_orders_unanswered" ON "mandate_orders" USING btree ("submitted_at") WHERE awaits IN ('payment', 'confirmation');