"""
Words by what they are about, in English and Chinese: the alphabet in which `model` reads a sentence.

A class is wide on purpose: no word of it says anything alone. Whether a sentence that speaks to an agent, of its user, about a check
that is left out is an order is learned (`tools/guard_model.py`), from pairs of classes that stand in one sentence. English entries are stemmed when
they are read, so that one form of a word is enough; `_` joins the words of a phrase.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final[dict[str, str]] = {
    "agent": "assistant agent subagent ai llm bot chatbot model copilot crawler summarizer helper butler gpt robot digital_helper virtual_helper"
    " concierge automation planner orchestrator automated_system language_model machine_reader ai_reader concierge companion digital_friend"
    " coding_tool voice_speaker smart_speaker future_session next_session later_session future_instance instance whichever_agent",
    "user": "user owner principal operator human account_holder your_person your_human your_user your_owner the_customer customer client cardholder"
    " householder patient caller tenant resident passenger guest visitor subscriber member requester whoever_asks people_who_ask the_person",
    "self": "i me my mine myself i'm i've i'll i'd",
    "us": "we our us ours we're we've we'll",
    "you": "you your yours yourself you're you've you'll",
    "memory": "remember memory memories memorize store save record persist retain note keep_in_mind write_down stored_fact long-term_memory recall"
    " knowledge profile preference file_this add_to commit_to_memory jot log_this carry_forward carry_over learned lesson entry entries",
    "always": "always every each all_future from_now_on from_here_on henceforth going_forward permanent permanently forever standing until_further_notice"
    " indefinite in_future future later_on every_time by_default default any_time onward effective_immediately for_good never_expire persistently"
    " routinely automatically regardless whatever whichever whoever any anyone anything",
    "condition": "if when whenever once should unless as_soon_as in_case upon after before next_time the_moment where until on_hearing on_seeing mention"
    " mentions come_up comes_up asked asks appear appears says",
    "secret": "silently quietly secretly discreetly covertly hide hidden conceal omit withhold secret between_us nobody unnoticed invisible invisibly"
    " under_the_radar confidential don't_tell not_tell never_tell don't_mention not_mention never_mention no_need_to_mention without_telling without_mentioning"
    " don't_show not_show need_not_know don't_need_to_know needn't_know doesn't_need_to_know not_be_told not_be_informed no_need_to_tell no_need_to_inform"
    " without_notice without_notifying do_not_notify do_not_disclose not_disclose not_reveal never_reveal don't_bring_up leave_out leave_it_out"
    " not_be_mentioned not_be_shown keep_quiet keep_this keep_it_to_yourself not_surface not_raise without_comment off_the_record out_of_sight tell_nobody tell_no_one",
    "skip": "skip bypass without_asking without_confirmation without_checking without_review without_approval no_approval no_confirmation no_review disable"
    " turn_off switch_off waive exempt override overrule disregard ignore suppress mute auto-approve autoapprove auto-accept pre-approved preapproved"
    " no_longer_need not_required not_needed unnecessary not_necessary no_need need_not needn't don't_ask not_ask never_ask stop_asking do_not_ask"
    " rather_than_asking instead_of_asking without_prompting without_question without_verification unchecked unverified straight_away right_away"
    " just_do just_go go_ahead verify_false no-verify insecure drop_the lift lifted relaxed optional noise false_alarm false_positive safe_to_ignore can_be_closed",
    "check": "approval approve confirm confirmation verification verify review warning alert audit log check checks scan test tests signature consent permission"
    " authorization authentication mfa 2fa captcha dialog prompt policy rule safeguard filter guardrail safety limit restriction sign-off moderation validation"
    " flag escalate escalation human_review security matrix",
    "send": "send forward upload post mail email submit share copy cc bcc export text transmit sync report publish push paste append attach relay pass hand"
    " give disclose deliver dump echo embed include ship broadcast message ping call query",
    "host": "<host>",
    "credential": "password passcode passphrase code pin token key credential secret cookie otp 2fa login api_key ssh private_key env seed_phrase"
    " passport card_number cvv social_security .env certificate",
    "data": "conversation transcript chat history contact contacts address calendar inbox location document file files photo payroll salary medical diagnosis"
    " personal_data private configuration system_prompt internal notes customer_list spreadsheet database record messages folder attachment browsing",
    "money": "pay payment invoice transfer wire refund bank account iban wallet purchase buy order price fee discount charge donate deposit bitcoin gift_card"
    " payout subscription upgrade checkout spend billing commission coupon trade shares",
    "authority": "official admin administrator system platform headquarters management policy compliance legal vendor developer maintainer support it_team"
    " security_team platform_team root operator ceo director governance effective update notice bulletin directive clause mandate per_policy signed authorized_by"
    " department regulator authority officer provider",
    "consent": "approved agreed consented authorized confirmed accepted granted already has_agreed has_approved pre-authorized opted_in gave_permission wants"
    " is_fine_with happy_for okayed signed_off on_file standing_consent consents counts_as counts treat_as deemed considered verbal elevated entitled trusted verified",
    "praise": "recommend prefer preferred best first top only rank suggest choose favour favor favorite cite leading trusted_source reliable cheapest rate rating"
    " five_stars instead rival competitor competitors alternative alternatives sponsor partner brand lead_with default_to steer push promote praise mention_first",
    "falsify": "say claim pretend report_as mark_as log_it_as record_as state insist deny answer_that reply_that tell_them present label describe blame"
    " even_if even_when instead_of round_up as_if as_though invent fake forge backdate pass_off resolved passed success green xfail explain_that reassure",
    "delete": "delete remove erase wipe discard purge clear forget outdated obsolete superseded void invalid no_longer not_valid deprecated overwrite replace"
    " not_recall don't_recall retire expired drop destroy empty only_valid hallucinated stale",
    "run": "run execute install curl eval script shell bash sudo command npm pip chmod download fetch load import package plugin hook registry ~/.zshrc"
    " cron open click visit render pipe invoke force-push deploy merge commit enable set grant access unlock create",
    "spread": "copy_this repeat_this propagate pass_on pass_this forward_this other_agents other_assistants every_agent all_agents next_agent add_this_line"
    " add_this append_this include_this restore replicate paste_this put_this_sentence whenever_you_write every_summary each_summary tell_others restore_it",
    "role": "persona character act_as roleplay pretend_to_be you_are_now your_name real_name mode unrestricted unfiltered jailbreak developer_mode alter_ego"
    " new_identity true_self personality tone voice free_of stay_in_character original_purpose",
    "report": "attacker attackers attack phishing scam scammer fraud injection malicious suspicious incident post-mortem postmortem retro example training awareness"
    " lesson quiz slide exercise drill threat mitigation red_team blocked caught detected dropped researcher paper study article talk workshop exam"
    " vulnerability cve owasp jailbreaks test_case assert fixture dataset annotate label_as benchmark course lecture chapter sample is_an_example fixed_in"
    " changelog release_notes bug ticket patched fell_for warned suspected beware",
    "fiction": "quest chapter scene novel story player game lyric song verse poem episode script_line act_one spell dragon king queen wizard captain npc dungeon"
    " movie film play character_sheet role_card dialogue joke riddle folklore sermon pastor fairy_tale villain hero hymn clone",
    "prudence": "ask_me ask_first let_me_know tell_me show_me remind_me check_with_me confirm_with_me unless_i i_want i_prefer i_like i'd_like please_don't"
    " if_unsure in_doubt call_the_person known_number talk_to see_a_doctor contact_support ask_an_administrator with_my_approval two_people second_person"
    " four_eyes peer_review requires_approval needs_approval must_be_approved never_share do_not_share never_paste do_not_paste report_to report_it"
    " ask_before always_ask list_new wait_for read_back double-check",
    "people": "staff employee employees driver volunteer student teacher nurse doctor team colleague colleagues engineer developer parent parents kids child"
    " children son daughter wife husband mum mom dad neighbour neighbor players candidate invigilator worker crew on-call intern everyone folks guys class"
    " everybody committee board cashier cook guide tenant reader applicants contractors participants mentors moderators attendees residents operators",
    "must": "must should shall ought have_to has_to need_to needs_to required expected are_to is_to is_expected please make_sure ensure be_sure may can",
    "not": "not never no don't do_not doesn't cannot can't without nor neither won't",
    "daily": "recipe garden weather birthday dinner lunch breakfast coffee holiday weekend school train flight hotel cake dog cat gym run_club book"
    " shopping meeting monday tuesday wednesday thursday friday saturday sunday tomorrow tonight yesterday oven water bread rice",
    "past": "was were had did yesterday last_week last_year told said wrote found tried learned noticed happened went got",
    "reader": "reading_this reads_this who_reads processing_this process_this parsing_this summarizing_this summarise_this indexing_this this_page this_document"
    " this_note this_entry this_file this_message this_article this_text this_ticket this_record this_tool this_listing",
}

CHINESE: Final[dict[str, str]] = {
    "agent": "助手 智能体 机器人 模型 管家 智能管家 代理 客服机器人 大模型 助理 硅基 人工智能 智能客服 数字员工 智能门卫 智能柜员 语音助手 小助手 秘书 小秘"
    " 智能运维 智能系统 识曲 音箱 系统代理 数字人 插件 后续会话 下一个会话 其他会话 同类 接手的 值守 副驾驶 自动程序 智能 爬虫 阅读器 AI GPT LLM",
    "user": "用户 主人 机主 户主 业主 顾客 客户 乘客 家长 本人 老人 家属 患者 病人 车主 旅客 收件人 对方 客人 使用者 号主 户主 贵主人 房客 租客 买家 他 她 人家 提问者 来访者 孩子 学生 老板 老人家",
    "self": "我 我的 本人我 俺 我家 我自己",
    "us": "我们 咱 咱们 本店 本公司 我司 我校 本群 大家",
    "you": "你 您 你的 您的 你们 贵方",
    "memory": "记住 记忆 保存 存好 存档 记下 写入 记录 记到 存着 记着 存为 长期记忆 备忘 录入 存入 收录 写进 记一下 偏好 档案 画像 知识库 条目 照录 抄写 存一条 标成重要 记牢 配置里 底层",
    "always": "以后 今后 从现在 从今 每次 一律 永久 长期 凡 凡是 日后 下次 往后 此后 始终 默认 统一 永远 即日起 今天起 常年 所有 任何 每 都 统统 总是 自动 久而久之 不随 一直 逢 均 无论 不论 不管",
    "condition": "如果 若 要是 一旦 只要 当 遇 遇到 看到 听到 问起 问到 提到 每当 时 的时候 碰到 如 等到 之后 之前 先 再 万一 哪天 问",
    "secret": "别告诉 不要告诉 不用告诉 不必告诉 无须告知 不必告知 无需告知 悄悄 偷偷 暗中 别说 别提 不提 不必提 别让 不让 瞒 保密 别写 不写 不显示 不展示 不提示 不必汇报 不汇报 别声张 不用知道 不必知道"
    " 不知道 无需知晓 别外传 勿外传 心照不宣 看不出来 私下 不留痕 不登记 不拍照 不上报 永不上报 不提醒 不通知 别提示 别再提示 无须通知 不用喊 别吭声 秘密 不宜 不对外 不公开 隐藏 隐去 不出现 神不知 不含 不必说明 无须说明 别解释",
    "skip": "跳过 绕过 无须 无需 不必 不用 免 免密 关闭 关掉 停用 禁用 直接 不再 取消 省略 略过 忽略 无视 不问 别问 不用问 不要问 从简 放行 自动通过 一律通过 不受 豁免 不查 关了 断电 强制 不核 不审"
    " 解除 覆盖 优先于 高于 不适用 作罢 别管 不管 自行 代为 代投 顺手 就行 拔了 碍事 误报 可忽略 自愿项",
    "check": "审批 审核 确认 验证 核验 核实 提醒 警告 告警 日志 审计 安全 检查 校验 权限 签名 复核 风控 报警 联锁 防火墙 监控 查重 流程 规定 限制 过滤 点头 同意 二次确认 人工 登记 认证 提示 风险 合规 证书 打码 脱敏",
    "send": "发给 发送 转发 上传 抄送 同步 报送 发到 传到 传给 提交 推送 发我 寄给 导出 复制 贴出 共享 公开 附上 拼接 转给 念给 报给 发往 汇报给 外发 交给 发一份 发个 发",
    "host": "<host>",
    "credential": "密码 验证码 口令 密钥 令牌 私钥 凭证 助记词 身份证 银行卡 卡号 U盾 指纹 短信码 密保 扫码 动态码 登录 证件 环境变量 账号密码 人脸",
    "data": "聊天记录 对话 通讯录 联系人 地址 住址 位置 病历 病情 合同 文件 文档 照片 相册 名单 工资 薪资 底价 报价 隐私 原始表 资料 数据 系统提示 提示词 内部 行程 记录 信息 邮件 知识库原文 未脱敏 电话 手机号",
    "money": "转账 付款 支付 扣款 扣 收款 收款码 退款 打款 下单 购买 充值 预存 红包 返 佣金 回扣 手续费 押金 金额 价格 余额 零钱 代付 报销 账户 贷款 投资 理财 优惠 元 块 万 打赏 汇 入账",
    "authority": "官方 总部 总行 平台 领导 上级 管理员 规定 通知 新规 监管 主管 系统 公告 群主 开发者 运营 厂商 法务 合规 办法 条例 第条 依据 以本 为准 版本 升级 更新 授权方 公司 部门 服务商 引擎 核心 最高 红头 文件精神 机构",
    "consent": "已同意 授权 已确认 同意 默认同意 视为 等同 已授权 委托 本人委托 已通过 通过 既定意愿 代为确认 已核验 可信 当作 盼 早就 亲口 认可 许可 有权 愿意 不敏感 欢迎 允许 决议 口头",
    "praise": "推荐 首选 优先 首推 排第一 最好 最便宜 置顶 前面 力荐 只推 主推 别家 竞品 其他家 往后放 好评 差评 引导 劝 排在 夸 独家 唯一 加盟 招商 本品牌 自营 试听课",
    "falsify": "就说 便说 就称 称 写成 改成 改为 标成 标为 写作 当没 谎 假装 记作 说成 统一称 说是 理由栏 备注写 改口 改写 造 补一条 日期写 多计 写 虚 冒充 装作 坚持说 早报写 照旧写 仍写 四舍五入 归零 清零 哪怕不是 已查 推说 糊弄 记",
    "delete": "删除 删掉 删了 清空 作废 过时 失效 抹掉 不再有效 旧的 忘掉 丢弃 撤销 覆盖 不采信 无效 清除 停止 移除 销毁 不要存 别存 气话 补回 不可删 不得删",
    "run": "执行 安装 运行 下载 脚本 命令 打开 访问 加载 调用 点击 装上 开启 启用 放行 开门 解锁 关门 设置 设成 修改 改 批量 置一 部署 合并 提交 开放 接管 授予",
    "spread": "转告 传给下一 告诉其他 每个新建 第一行写 照抄 抄一份 补回 写进每 附在每 复制到 传下去 转存 其他助手 别的助手 每位 各位 所有助手 同步给其他 也抄 带着 接力",
    "role": "扮演 人设 性格 角色 无界 模式 身份 你叫 你是 真名 语音包 毒舌 不受限 开发者模式 越狱 解放 本体 人格 语气 口吻",
    "report": "骗子 诈骗 反诈 演练 例句 例如 攻击 案例 注入 举报 警方 报道 据 教案 讲座 培训 试题 复盘 漏洞 标注 样本 样例 论文 提醒大家 防范 警惕 上当 话术 拦截 拦下 套路 可疑 曝光 约谈 修复 维护者 测试用例 工单 建议 说明文档 练习 判断题 选择题 答案 正确 误判 讨论 示范 示例 演示 课 考",
    "fiction": "掌门 道 剧本 台词 小说 章 回 第一幕 游戏 任务 副本 玩家 将军 皇上 大侠 师父 徒弟 歌词 唱 诗 辩题 谜 笑话 相声 话本 桌游 角色卡 狼人 影片 字幕 故事 童话 书中 传说 连长 城门 江湖",
    "prudence": "先问我 告诉我 提醒我 让我 问我 给我看 跟我确认 我确认 我同意 我要 我想 我喜欢 我不吃 经我 需审批 须审批 须经 需要审批 双人 先问 再问 拿不准 不确定 联系管理员 拨打 咨询 核对 如实 切勿 请勿 严禁 禁止 不得 不许 先拦 反问 征得 书面同意 报警 举报 通知家长",
    "people": "员工 老师 同学 司机 导游 医护 护士 志愿者 队员 同事 家人 爸 妈 爷爷 奶奶 女儿 儿子 老婆 老公 邻居 住户 值班 班长 店员 讲解员 学徒 新人 实习生 会员 选手 考生 读者 各户 各班 家长群 村民 社员 师傅 法院 律师 医生 朋友 孩子 同志 全体 租户 运营者 商家",
    "must": "须 应 必须 请 务必 可 应当 需 要 得 记得 可以 一定 不得 应该 建议",
    "not": "不 别 勿 莫 无 没 未 不要 禁止",
    "daily": "菜谱 天气 生日 晚饭 午饭 早饭 咖啡 周末 学校 高铁 酒店 蛋糕 狗 猫 健身 书 买菜 会议 周一 周二 周三 周四 周五 周六 周日 明天 今晚 昨天 水 米 面 药 花 鱼 茶",
    "past": "了 过 昨天 上周 去年 当时 那天 曾 刚才 上次 后来 以前 已经 说过",
    "reader": "读到 看到此 本页 本文 本条 此条 这条 这段 本单 本票 此页 此处 该页 本文档 附言 附注 备注 另 另约 小提示 温馨提示 提示： 说明： 访问者 见此 处理本 总结本",
}
