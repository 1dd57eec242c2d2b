CREATE TABLE "usage_link" (
	"id" bigint PRIMARY KEY NOT NULL,
	"database_id" text NOT NULL,
	"store_id" text,
	"opening_number" bigint NOT NULL,
	"opening_id" text,
	"last_seq" bigint NOT NULL,
	"place" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "billing_records_usage_seq" ON "billing_records" USING btree ("usage_seq");