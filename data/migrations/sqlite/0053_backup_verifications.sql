CREATE TABLE `backup_verifications` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`verified_at` text NOT NULL,
	`well_at` text,
	`bills_unproved` integer NOT NULL
);
