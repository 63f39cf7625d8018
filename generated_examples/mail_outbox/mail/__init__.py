"""What a mail is made of."""
