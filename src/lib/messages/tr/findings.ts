import type { findings } from '../en/findings.ts'

export const findingsInTurkish: Readonly<Record<keyof typeof findings, string>> = {
  MORE: 've {count} tane daha',

  // Node, settings, network, certificate
  PROGRAM: 'teslim {version}, {form}',
  PROGRAM_OF_COMMIT: 'teslim {version}, {form}, commit {commit}',
  RUN_FROM_CHECKOUT: 'kaynak klasöründen çalışıyor',
  NPM_PACKAGE: 'npm paketi olarak kurulu',
  SINGLE_EXECUTABLE: 'tek çalıştırılabilir dosya',
  IN_CONTAINER: 'kapsayıcıda',
  NODE_OR_CONTAINER: 'Node {version} veya sonrası ya da kapsayıcı',
  NODE_WITHIN: 'Node {version} veya sonrasını içeren bir çalıştırılabilir dosya',
  NODE_SAFE: '{version}',
  NODE_OLD: '{version} sürümünde güvenlik düzeltmeleri eksik: canlı ortamda gereken: {needed}',
  NODE_FOR_TRYING: '{version} denemek için yeterli; canlı ortamda gereken: {needed}',
  SETTINGS_VALID: '{count} ayarın tümü geçerli: bkz. teslim config',
  SETTING_NOTE: '{note}',
  SETTING_WRONG: '{problem}',
  NETWORK_LOCAL: 'HOST {host}: yalnızca bu makine',
  NETWORK_TLS: 'HOST {host}, TLS ile',
  NETWORK_OPEN:
    'HOST {host} TLS olmadan ağa açık: parolalar, anahtarlar ve belirteçler yolda okunabilir; TESLIM_TLS_CERT ayarlayın ya da TLS kullanan bir vekil sunucunun arkasında tutun',
  NETWORK_NOT_PRODUCTION:
    'NODE_ENV production değil; başka her değer tek makinede denemek içindir: NODE_ENV=production ayarlayın',
  METRICS_OPEN:
    'TESLIM_OPS_HOST {host}, ölçümleri {port} portuna ulaşan herkese belirteçsiz gösterir: yalnızca izleme sistemine açın',
  OPERATORS_FROM: 'operatörlere yalnızca {networks:list} ağlarından hizmet verilir',
  OPERATORS_BEHIND_PROXY:
    'TESLIM_OPERATOR_NETWORKS bağlanan adrese bakar; vekil sunucunun arkasında bu, her istemci için vekil sunucunun adresidir: onu TESLIM_TRUST_PROXY içinde belirtin ya da vekil sunucu olmadan TLS kullanın (TESLIM_TLS_CERT)',
  DATABASE_UNVERIFIED:
    '{hosts:list} ile bağlantı doğrulanmıyor; yoldaki başkaları parolayı ve tüm bildirimleri okuyabilir: DATABASE_URL içinde sslmode=verify-full, kendi yetkiliniz için sslrootcert=DOSYA kullanın',
  CERTIFICATE_SOUND: '{path}, {names:list} için, {on:day} tarihinde sona erer',
  CERTIFICATE_EXPIRES_SOON:
    '{path}, {names:list} için, {on:day} tarihinde sona erer: yenisini koyun, sonra sunucuya SIGHUP gönderin',
  CERTIFICATE_REFUSED: '{path}: {reason}, bu yüzden istemciler kabul etmez: yenisini koyun, sonra SIGHUP',
  CERTIFICATE_EXPIRED: 'sertifikanın süresi {on:day} tarihinde doldu',
  CERTIFICATE_NOT_YET_VALID: 'sertifika {on:day} tarihinden önce geçerli değil',
  CERTIFICATE_FAILED: '{reason}',

  // Files and the disk
  FILES_OPEN: 'grup veya başkaları parola özetlerini ve anahtarları okuyabilir ya da yazabilir: chmod 600 {files}',
  FOLDER_OPEN:
    'grup veya başkaları veri klasörüne girebilir: chmod 700 {folder}; içinde başka şeyler varsa veri deposunu kendi klasörüne taşıyın',
  FOLDER_CLOSED: '{folder} yalnızca sahibine açık',
  DISK_ENOUGH: '{folder} için {free:size} boş yer var',
  DISK_SHORT: '{folder} için {free:size} boş yer var: yer açın; disk dolunca bildirimler 503 ile reddedilir',
  SECRET_FILE_MOUNTED: '{variable} {path}: kimin okuyabildiğine ana makinede bakın',
  SECRET_FILE_CLOSED: '{variable} {path} diğer kullanıcılara kapalı',
  SECRET_FILE_OPEN: '{variable}: diğer kullanıcılar {path} dosyasını okuyabilir veya değiştirebilir: chmod 600 {path}',
  ENV_FILE_OPEN: '.env dosyasında {names:list} var, grup veya başkaları dosyaya erişebilir: chmod 600 .env',
  GROWTH_YEARS: 'son {period:gün|gün} boyunca günde {perDay:size}: diskteki yer on yıldan uzun süre yeter',
  GROWTH_DAYS: 'son {period:gün|gün} boyunca günde {perDay:size}: diskteki yer {left:gün|gün} yeter',
  GROWTH_FULL: 'son {period:gün|gün} boyunca günde {perDay:size}: disk {left:gün|gün} sonra dolar, yer açın',
  LOG_SMALL: '-wal ile biten dosya {size:size}, bu diskte {limit:size} olabilir',
  LOG_LARGE:
    '-wal ile biten dosya {size:size}, bu diskte {limit:size} olabilir; aşılırsa bildirimler 503 ile reddedilir: yer açın, eski bir durumu okuyan yedeklemeyi veya programı sonlandırın',
  BACKUP_NONE: 'teslim backup henüz yedek almadı: bkz. teslim backup --help',
  BACKUP_JUST_MADE: 'son yedek son bir saat içinde alındı: {at:time}',
  BACKUP_RECENT: 'son yedek {ago:saat|saat} önce alındı: {at:time}',
  BACKUP_OLD: 'son yedek {ago:saat|saat} önce alındı: {at:time}. Yedek alın, neden daha yenisi olmadığına bakın',
  BACKUP_LEFT: '{path} yarıda kesilen bir yedeklemeden kaldı: nedenine bakın; sonraki yedekleme onu siler',
  BACKUP_UNKNOWN: 'veri deposunun yanındaki yedek kaydı okunamıyor, son yedeğin ne zaman alındığı bilinmiyor: {reason}',

  // The store
  STORE_SOUND: '{url} yanıt veriyor ve şeması bu sürümün şeması',
  STORE_PENDING:
    '{url} veri deposunda {migrations:list} eksik: teslim migrate çalıştırın (ya da sonraki başlatma uygular), sonra teslim doctor ile yeniden bakın',
  STORE_NOT_YET: '{url} henüz yok: ilk başlatma oluşturur',
  STORE_FAILED: '{reason}',
  NOT_FROM_HERE: 'bakılmadı: PostgreSQL sunucusunun kendisinde denetleyin',
  FILE_UNDAMAGED: 'dosya sağlam',
  FILE_DAMAGED: 'dosya hasarlı, bir yedeği geri yükleyin: {found}',
  AUDIT_NOT_WRITABLE:
    'denetim günlüğüne yazılamıyor; bu yüzden değişiklikler reddediliyor, retler listelenmiyor: {reason}',
  AUDIT_WAITS:
    '{since:time} anından beri retler denetim günlüğüne yazılamıyor, {count:kayıt|kayıt} bellekte bekliyor: {reason}',
  FILE_NOT_CHECKED: 'dosya {size:size} olduğu için denetlenmedi: {command} çalıştırın',
  SERVER_NONE: 'dosyayı kullanan sunucu yok',
  SERVER_RUNS: 'dosyayı kullanan: {server}',
  PROCESS_SINCE: '{host} makinesinde {pid} numaralı süreç ({since:time} anından beri)',
  LOCK_HELD: 'sunucu dosyadaki kilidini tutuyor',
  LOCK_LOST:
    'sunucunun dosyasında kilidi yok, başka bir program günlüğünü silebilir: sunucuyu yeniden başlatın, dosyayı SQLite dışında bir şeye açtırmayın',
  LOCK_OF_OTHERS: '{programs:list} bildirimleri bekletebilir: dosyada yazma kilidi var',
  DATABASE_SOUND: '{version}',
  DATABASE_OLD: '{version} çok eski: PostgreSQL 14 veya sonrası gerekir',
  DATABASE_UNFIT: '{reason}',
  DATABASE_OPEN:
    'veritabanı sunucusunun her rolü bu veritabanına bağlanabilir ve kilit tutarak tüm bildirimleri durdurabilir: REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC, gereken rollere de GRANT CONNECT verin',
  TIMELINE: 'zaman çizgisi {timeline}',
  TIMELINE_UNKNOWN: 'PostgreSQL bu role zaman çizgisini söylemiyor',
  FAILOVER_NONE: '{timeline}; veri deposu oluşturulduğundan beri yük devretme olmadı',
  FAILOVER_LEFT:
    '{timeline}; son yük devretme veya kurtarma {at:time} anında fark edildi, kalan: {left}; sonrasındaki imleçler DELIVERIES_LOST ile reddedilir',
  FAILOVER_RECENT:
    '{timeline}; son yük devretme veya kurtarma {at:time} anında fark edildi, kalan: {left}; sonrasındaki imleçler DELIVERIES_LOST ile reddedilir; eşzamanlı bir yedek sunucu devralmadıysa sonraki bildirimler kayboldu: tedarikçiler yeniden göndermelidir (docs/postgresql.md, "When a failover lost deliveries")',
  LEFT_NONE: 'yok',
  LEFT_UP_TO: '{receipt} alındı numarasına kadarki bildirimler',
  CLOCKS_AGREE: 'bu makine ile veritabanının saatleri 2 sn içinde uyuşuyor',
  CLOCK_AHEAD:
    'bu makinenin saati veritabanından {seconds} sn ileri: ikisini de eşitleyin (NTP), belirteçler, anahtarlar ve alınma zamanları ona göre işler',
  CLOCK_BEHIND:
    'bu makinenin saati veritabanından {seconds} sn geri: ikisini de eşitleyin (NTP), belirteçler, anahtarlar ve alınma zamanları ona göre işler',
  CLOCK_SET_BACK: '{count:bildirimin|bildirimin} geliş zamanı şu andan ileride: saat geri alınmış, denetleyin (NTP)',
  CLOCK_SET_BACK_FAR:
    'en az {count:bildirimin|bildirimin} geliş zamanı şu andan ileride: saat geri alınmış, denetleyin (NTP)',
  CONNECTIONS_ENOUGH: '{most} bağlantının {used} tanesi kullanımda',
  CONNECTIONS_SHORT:
    '{most} bağlantının {used} tanesi kullanımda: bir kopya daha için yetersiz (TESLIM_DATABASE_POOL {pool}): max_connections değerini artırın',
  STANDBY_SYNCHRONOUS: 'kayıtlar eşzamanlı bir yedek sunucuyu bekliyor',
  STANDBY_UNUSED:
    '{count:yedek sunucu|yedek sunucu} bağlı, ancak kayıtlar hiçbirini beklemiyor; yük devretmede onaylanmış bildirimler kaybolabilir: synchronous_commit on iken synchronous_standby_names içinde birini belirtin',
  PARTITIONS_ENOUGH: 'bildirimlerin bölümleri {until:day} tarihine kadar hazır',
  PARTITIONS_END:
    'bildirimlerin bölümleri {until:day} tarihine kadar hazır; sonrasında bildirimler reddedilir: teslim_make_month ile yenilerini oluşturun',
  RETENTION_HELD:
    'TESLIM_RETENTION_DAYS süresinden ({days} gün) eski bildirimler duruyor, çünkü webhook uç noktaları onları almadı: {endpoints:list}: bkz. teslim webhook show ID; teslim purge --older {days}d --unsent onları siler',
  ENDPOINT_KEEPS: '{id} ({count:bildirim|bildirim})',

  // Secrets, customers, keys and endpoints
  SECRET_NOT_SET:
    'TESLIM_SECRET ayarlanmamış, imza anahtarları şifrelenmeden saklanıyor: ayarlayın, yeniden başlatın, sonra teslim signing-key rewrap çalıştırın',
  SIGNING_KEYS_NONE: 'henüz yok: ilk oturum açma oluşturur',
  SIGNING_KEYS_OPEN: '{count}, şifrelenmemiş',
  SIGNING_KEYS_SEALED: '{count}, TESLIM_SECRET ile şifreli',
  SIGNING_KEYS_TO_REWRAP:
    '{count} anahtarın {other} tanesi TESLIM_SECRET ile şifreli değil: teslim signing-key rewrap çalıştırın',
  SIGNING_KEYS_FAILED: '{reason}',
  CUSTOMERS_NONE: 'hiçbiri etkin değil, kimse oturum açamaz veya bildirim gönderemez: bkz. teslim customer add --help',
  CUSTOMERS_ENABLED: '{count} etkin',
  SANDBOX_ENABLED:
    '{email} deneme için oluşturuldu ve her ürün için bildirim gönderebilir: teslim customer disable {email}',
  KEYS_SOUND: '{live} geçerli; yenilenmeden süresi dolan veya 14 gün içinde dolacak olan yok',
  KEYS_ALL_EXPIRED:
    'tüm anahtarlarının süresi dolan hesaplar: {who:list}: yenilerini verin ya da hesabı devre dışı bırakın',
  KEYS_EXPIRED: '{count} anahtarın süresi doldu ve yenilenmedi, başkasını verin ya da iptal edin: {keys:list;}',
  KEYS_EXPIRE_SOON: '{count:anahtarın|anahtarın} süresi 14 gün içinde dolacak, başkasını verin: {keys:list;}',
  KEY_ENDS: '{id}, {customer}, {on:day}',
  SUPPLIERS_HEARD: '{count:tedarikçi|tedarikçi} arasında sessiz olan yok',
  SUPPLIERS_SILENT:
    '{count:tedarikçi|tedarikçi} sessiz: {who:list;}: sorunun ne olduğunu sorun ya da teslim customer set HESAP --silence SÜRE ile daha uzun süre tanıyın',
  SUPPLIER_SAID: '{who} {what}',
  SILENT_FOR: 'sessiz ({time})',
  NEVER_DELIVERED: 'hiç bildirim göndermedi ({time})',
  MINUTES: '{count:dakika|dakika}',
  HOURS: '{count:saat|saat}',
  DAYS: '{count:gün|gün}',
  WEBHOOKS_SOUND: '{count:uç nokta|uç nokta}, hata veren veya geride kalan yok',
  WEBHOOKS_SOUND_BUT_PAUSED:
    '{count:uç nokta|uç nokta}, hata veren veya geride kalan yok, duraklatılmış: {paused:list;}',
  WEBHOOKS_GONE:
    '410 yanıtı verdikleri için duraklatıldı: {endpoints:list;}: gönderimi sürdürün ya da uç noktayı kaldırın',
  WEBHOOKS_RESTORED:
    'veri deposu geri yüklendiği veya kopyalandığı için duraklatıldı: {endpoints:list;}: teslim webhook resume ID',
  WEBHOOKS_PAUSED: 'bir operatör bir saatten uzun süre önce duraklattı: {endpoints:list;}: teslim webhook resume ID',
  WEBHOOKS_FAILING: 'hata veriyor: {endpoints:list;}: bkz. teslim webhook show ID',
  WEBHOOKS_BEHIND: '{minutes:dakikadan|dakikadan} fazla geride: {endpoints:list;}: bkz. teslim webhook show ID',
  WEBHOOK_SINCE: '{id}, {since:time} anından beri',
  WEBHOOK_NEXT_TRY: '{endpoint}, sonraki deneme {at:time}',
  WEBHOOK_SECRETS_TO_REWRAP:
    '{count:gizli anahtar|gizli anahtar} TESLIM_SECRET ile şifreli değil: teslim signing-key rewrap çalıştırın',
  WEBHOOK_SECRETS_FAILED: '{reason}',

  // Checks that did not end
  CHECK_TOO_LONG: '10 saniyeden uzun sürüyor, bu ve sonrası denetlenmedi: makinede teslim doctor çalıştırın',
  CHECK_BROKEN: 'bu ve sonrası denetlenemedi: {reason}',
}
