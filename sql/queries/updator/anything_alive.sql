SELECT EXISTS (SELECT FROM campaigns WHERE state = 'in_treatment')
