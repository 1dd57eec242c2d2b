ALTER TABLE "events" ADD COLUMN "subject" text;--> statement-breakpoint
UPDATE "events" SET "subject" = CASE
  WHEN "data"->>'subscription_id' IS NOT NULL THEN 'subscription:' || ("data"->>'subscription_id')
  WHEN "data"->>'mandate_id' IS NOT NULL THEN 'mandate:' || ("data"->>'mandate_id')
  WHEN "data"->>'application_id' IS NOT NULL THEN 'application:' || ("data"->>'application_id')
  WHEN "type" LIKE 'emandate.mandate.%' THEN 'mandate:' || ("data"->>'id')
  WHEN split_part("type", '.', 1) IN ('client', 'product', 'meter', 'add_on', 'billing_model', 'subscription', 'migration', 'simulation', 'application') THEN split_part("type", '.', 1) || ':' || ("data"->>'id')
END;--> statement-breakpoint
CREATE INDEX "events_subject" ON "events" USING btree ("company_id","subject","id") WHERE subject IS NOT NULL;